"""Prints a program of N linears in a row."""
import sys

count = int(sys.argv[1])
x, w = "tensor<4x8xf32>", "tensor<8x8xf32>"
print(f'func.func @chain(%v0: {x} {{sp.param = "x"}}, %w: {w} {{sp.param = "w"}})')
print(f'    -> ({x} {{sp.result = "y"}}) {{')
for i in range(count):
    print(f"  %v{i + 1} = sp.linear %v{i}, %w : ({x}, {w}) -> {x}")
print(f"  return %v{count} : {x}\n}}")
