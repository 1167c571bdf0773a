// The unix sockets in the folder `paths.run`.
#pragma once

namespace weir::wire {

inline constexpr const char *control_socket_name = "control.sock";     // weirctl asks weir-control
inline constexpr const char *dataplane_socket_name = "dataplane.sock"; // weir-control asks weir-dataplane

} // namespace weir::wire
