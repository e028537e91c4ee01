"""Random programs: sharded and whole must agree.

    random_blocks.py FIRST LAST [FOLDER]

For each seed, writes a program of norms, MLPs, attention blocks, linears, elementwise
and linalg ops in random order and sizes, with residuals and values used twice; runs it
whole, and under several meshes and forms; and compares the results in f64. A failing
program stays in FOLDER. The tools are found on the PATH.
"""
import os
import random
import subprocess
import sys
import tempfile

FORMS = ("tp=2 sequence-parallel=false", "tp=2", "tp=4 shared-entry-gathers=false")


def tensor(*shape):
    return "tensor<" + "x".join(map(str, shape)) + "xf64>"


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seq = 4 * self.random.choice([1, 2, 3])
        self.batch = self.random.choice([1, 2, 3])
        self.width = 8 * self.random.choice([1, 2])
        self.hidden = tensor(self.seq, self.batch, self.width)
        self.parameters = []
        self.lines = []

    def chance(self, probability):
        return self.random.random() < probability

    def parameter(self, *shape):
        number = len(self.parameters)
        # Not "bias": random parameters make those zero, which would hide errors.
        self.parameters.append(f'%p{number}: {tensor(*shape)} {{sp.param = "p{number}"}}')
        return f"%p{number}"

    def emit(self, text, results=1):
        names = [f"%v{len(self.lines)}_{i}" for i in range(results)]
        self.lines.append(f"  {', '.join(names)} = {text}")
        return names[0] if results == 1 else names

    def norm(self, x, shape):
        weight = self.parameter(shape[-1])
        t = tensor(*shape)
        return self.emit(f"sp.rms_norm {x}, {weight} eps 1.0e-03 : ({t}, {tensor(shape[-1])}) -> {t}")

    def linear(self, x, inputs, outputs, bias_chance):
        weight = self.parameter(outputs, inputs)
        operands = [tensor(self.seq, self.batch, inputs), tensor(outputs, inputs)]
        bias = ""
        if self.chance(bias_chance):
            bias = f" bias {self.parameter(outputs)}"
            operands.append(tensor(outputs))
        result = tensor(self.seq, self.batch, outputs)
        return self.emit(f"sp.linear {x}, {weight}{bias} : ({', '.join(operands)}) -> {result}")

    def elementwise(self, x, t):
        constant = self.emit(f"arith.constant dense<{self.random.choice(['0.0', '0.25'])}> : {t}")
        return self.emit(
            self.random.choice(
                [
                    f"math.tanh {x} : {t}",
                    f"arith.negf {x} : {t}",
                    f"math.absf {x} : {t}",
                    f"sp.scale {x} by 1.5 : ({t}) -> {t}",
                    f"arith.addf {x}, {constant} : {t}",
                    f"arith.maximumf {constant}, {x} : {t}",
                    f"arith.mulf {x}, {x} : {t}",
                ]
            )
        )

    def broadcast(self, x):
        weight = self.parameter(self.width)
        init = self.emit(f"tensor.empty() : {self.hidden}")
        identity = "affine_map<(s, b, h) -> (s, b, h)>"
        return self.emit(
            f"linalg.generic {{indexing_maps = [{identity}, affine_map<(s, b, h) -> (h)>, {identity}], "
            'iterator_types = ["parallel", "parallel", "parallel"]} '
            f"ins({x}, {weight} : {self.hidden}, {tensor(self.width)}) outs({init} : {self.hidden}) {{\n"
            "  ^bb0(%a: f64, %b: f64, %c: f64):\n    %m = arith.mulf %a, %b : f64\n"
            f"    linalg.yield %m : f64\n  }} -> {self.hidden}"
        )

    def mlp(self, x, other):
        inner = 8 * self.random.choice([1, 2, 3])
        t = tensor(self.seq, self.batch, inner)
        kind = self.random.randrange(3)
        first = self.linear(x, self.width, inner, 0.5)
        if kind == 0:
            for _ in range(self.random.randrange(3)):
                first = self.elementwise(first, t)
        elif kind == 1:
            up = self.linear(other, self.width, inner, 0.5)
            first = self.emit(f"sp.swiglu {first}, {up} : ({t}, {t}) -> {t}")
        else:
            first = self.emit(f"arith.addf {self.elementwise(first, t)}, {first} : {t}")
        return self.linear(first, inner, self.width, 0.5)

    def attention(self, x):
        heads, size = 4, 2 * self.random.choice([1, 2])
        flat, split = (self.seq, self.batch, heads * size), (self.seq, self.batch, heads, size)
        t = tensor(*split)

        def project():
            value = self.linear(x, self.width, heads * size, 0.3)
            shape = ", ".join(map(str, split))
            return self.emit(
                f"tensor.expand_shape {value} [[0], [1], [2, 3]] output_shape [{shape}] : {tensor(*flat)} into {t}"
            )

        query, key, value = project(), project(), project()
        if self.chance(0.6):
            query, key = self.norm(query, split), self.norm(key, split)
        if self.chance(0.6):
            table = tensor(self.seq, size // 2)
            cos, sin = self.emit(f"sp.rope_table theta 1.0e+02 : {table}, {table}", results=2)
            query, key = (
                self.emit(f"sp.rope {v}, {cos}, {sin} : ({t}, {table}, {table}) -> {t}") for v in (query, key)
            )
        causal = "causal" if self.chance(0.7) else ""
        mixed = self.emit(f"sp.attention {query}, {key}, {value} scale 3.0 {causal} : ({t}, {t}, {t}) -> {t}")
        joined = self.emit(f"tensor.collapse_shape {mixed} [[0], [1], [2, 3]] : {t} into {tensor(*flat)}")
        return self.linear(joined, heads * size, self.width, 0.4)

    def program(self):
        shape = (self.seq, self.batch, self.width)
        values = [self.parameter(*shape) for _ in range(self.random.choice([1, 2]))]
        for _ in range(self.random.randrange(3, 9)):
            x, other = (self.random.choice(values[-3:]) for _ in range(2))
            normed = self.norm(x, shape) if self.chance(0.7) else x
            y = self.random.choice(
                [
                    lambda: self.norm(x, shape),
                    lambda: self.elementwise(x, self.hidden),
                    lambda: self.mlp(normed, other),
                    lambda: self.mlp(normed, normed),
                    lambda: self.attention(normed),
                    lambda: self.attention(normed),
                    lambda: self.emit(f"arith.addf {x}, {other} : {self.hidden}"),
                    lambda: self.broadcast(x),
                    lambda: self.linear(x, self.width, self.width, 0.5),
                ]
            )()
            if self.chance(0.5):
                y = self.emit(f"arith.addf {x}, {y} : {self.hidden}")
            values.append(y)
        results, types = [], []
        for value in [values[-1]] + ([self.random.choice(values)] if self.chance(0.3) else []):
            t = self.hidden
            if self.chance(0.5):
                swapped = tensor(self.batch, self.seq, self.width)
                value, t = self.emit(f"sp.batch_major {value} : ({t}) -> {swapped}"), swapped
            results.append(value)
            types.append(t)
        named = ", ".join(f'{t} {{sp.result = "r{i}"}}' for i, t in enumerate(types))
        return "\n".join(
            [
                f"func.func @f({', '.join(self.parameters)}) -> ({named}) {{",
                *self.lines,
                f"  return {', '.join(results)} : {', '.join(types)}",
                "}",
                "",
            ]
        )


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode == 0, done.stdout + done.stderr


def main():
    first, last = int(sys.argv[1]), int(sys.argv[2])
    folder = sys.argv[3] if len(sys.argv) > 3 else tempfile.mkdtemp()
    os.makedirs(folder, exist_ok=True)
    failures = compared = split = 0
    for seed in range(first, last + 1):
        program, parallel, whole, result = (
            os.path.join(folder, f"{seed}.{suffix}") for suffix in ("mlir", "parallel.mlir", "whole.st", "st")
        )
        with open(program, "w") as file:
            file.write(Generator(seed).program())
        weights = ("--random-weights", str(seed))
        steps = [("whole", [("sp-run", "exec", program, *weights, "--out", whole)])]
        for form in FORMS:
            steps.append(
                (
                    form,
                    [
                        ("sp-opt", program, f"--sp-parallelize={form}", "-o", parallel),
                        ("sp-run", "exec", parallel, *weights, "--out", result),
                        ("sp-test-compare", result, whole, "--mode=scaled", "--tolerance=1e-9"),
                    ],
                )
            )
        good = True
        for name, commands in steps:
            for command in commands:
                good, text = run(*command)
                split += "all-reduces" in text and "split 0 of" not in text
                if not good:
                    break
            if not good:
                failures += 1
                print(f"seed {seed}, {name}: {program}\n{text}")
                break
            compared += name != "whole"
        if good:
            for path in (program, parallel, whole, result):
                os.remove(path)
    print(f"{compared} sharded runs agree, {split} of them with split all-reduces; {failures} failures")
    sys.exit(failures != 0)


main()
