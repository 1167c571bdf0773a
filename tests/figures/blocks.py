"""Blocks of rows as gnuplot reads them."""


def write(path, blocks):
    with open(path, "w", encoding="utf-8") as file:
        for rows in blocks:
            for row in rows:
                print(*("-" if cell is None else cell for cell in row), file=file)
            print("\n", file=file)
