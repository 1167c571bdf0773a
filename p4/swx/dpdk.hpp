// The headers of librte_pipeline. All of it is marked experimental in 22.11, which its headers want to be
// asked for before the first of them is read; so sources include this before any other header of DPDK.
#pragma once

#ifndef ALLOW_EXPERIMENTAL_API
#define ALLOW_EXPERIMENTAL_API
#endif

#include <rte_mbuf.h>
#include <rte_swx_ctl.h>
#include <rte_swx_pipeline.h>
#include <rte_swx_port.h>
