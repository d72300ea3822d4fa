#!/usr/bin/env python3
"""Writes gaussian_reference.h: what the noise is held against.

Run by hand when a case is added (Debian: python3-mpmath, python3-cryptography):

    python3 make_gaussian_reference.py > gaussian_reference.h

Everything here is written again from the mathematics, with 60-digit arithmetic and
exact rationals, and shares no code with the product.
"""

import hashlib
import struct
from fractions import Fraction

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from mpmath import mp, mpf, erfc, exp, floor, gammainc, inf, sqrt

mp.dps = 60


def upper_tail(z):
    return erfc(mpf(z) / sqrt(mpf(2))) / 2


def share(sigma, first, last):
    """P(first <= round(sigma Z) <= last); None is infinity."""
    low = mpf(1) if first is None else upper_tail((mpf(first) - mpf(1) / 2) / sigma)
    high = mpf(0) if last is None else upper_tail((mpf(last) + mpf(1) / 2) / sigma)
    return low - high


def chi_square_quantile(dof, tail):
    low, high = mpf(0), mpf(40 * dof + 400)  # bisection: the tail falls with x
    for _ in range(160):
        middle = (low + high) / 2
        beyond = gammainc(mpf(dof) / 2, middle / 2, inf, regularized=True)
        low, high = (middle, high) if beyond > mpf(tail) else (low, middle)
    return low


def edges_for(sigma):
    """Last integers of all cells but the uppermost; no cell below 5e-5."""
    if sigma < 1:
        return [-1, 0]
    if sigma < 100:
        top = int(sigma * mpf("3.85") + mpf(1) / 2)
        return list(range(-top, top))
    inner = [mpf(b) / 64 for b in range(-213, 214, 6)]  # -3.33 .. 3.33 sigma
    return [int(floor(sigma * z)) for z in [mpf("-3.7")] + inner + [mpf("3.7")]]


CASES = [("3/10", 3, 10), ("1", 1, 1), ("3", 3, 1), ("2^10", 2**10, 1), ("2^30", 2**30, 1),
         ("2^45", 2**45, 1), ("1000000007/3", 1000000007, 3),
         ("10000000000000001/9", 10000000000000001, 9)]


def print_cases():
    print("inline const std::vector<GaussianCase>& GaussianCases() {")
    print("  static const std::vector<GaussianCase> cases = {")
    for name, n, d in CASES:
        sigma = mpf(n) / d
        edges = edges_for(sigma)
        firsts = [None] + [e + 1 for e in edges]
        lasts = edges + [None]
        shares = [share(sigma, a, b) for a, b in zip(firsts, lasts)]
        assert abs(sum(shares) - 1) < mpf(10) ** -50 and min(shares) > mpf("5e-5")
        print(f'      {{"{name}", {n}, {d}, {mp.nstr(chi_square_quantile(len(shares) - 1, "1e-10"), 20)},')
        print("       {" + ", ".join(str(e) for e in edges) + "},")
        print("       {" + ", ".join(mp.nstr(s, 20) for s in shares) + "}},")
    print("  };\n  return cases;\n}\n")


def cell_boundary(cell_bits, j, bits):
    h = mpf(1) / 2**cell_bits
    with mp.workdps(500):
        w = lambda i: exp(-((mpf(i) / 2**cell_bits) ** 2) / 2)
        total = sum(w(i) for i in range(64 * 2**cell_bits))  # the rest: exp(-2048)
        return int(floor(sum(w(i) for i in range(j)) / total * mpf(2)**bits))


def print_boundaries():
    print("// floor(2^256 c_j), the words' most significant first.")
    print("inline constexpr CellBoundaryReference kCellBoundaries[] = {")
    for cell_bits, j in [(0, 1), (0, 2), (0, 7), (4, 1), (4, 2), (4, 16), (4, 64), (4, 145),
                         (4, 250), (4, 290)]:
        value = cell_boundary(cell_bits, j, 256)
        words = [(value >> (192 - 64 * i)) & (2**64 - 1) for i in range(4)]
        print(f"    {{{cell_bits}, {j}, {{{', '.join('0x%016xu' % w for w in words)}}}}},")
    print("};\n")


class Words:
    """AES-256-CTR, counter = stream (32 bits), chunk (48), block (48)."""

    def __init__(self, key, stream, chunk):
        counter = stream.to_bytes(4, "big") + chunk.to_bytes(6, "big") + bytes(6)
        self.cipher = Cipher(algorithms.AES(key), modes.CTR(counter)).encryptor()

    def next(self):
        return struct.unpack("<Q", self.cipher.update(bytes(8)))[0]


def draw(words, bounds, sigma):
    """One round(sigma Z): cells of 1/16, all comparisons on exact rationals."""
    while True:
        u = words.next()
        j = next(i for i, c in enumerate(bounds) if u < c)
        assert u not in bounds  # a tie would need more digits
        x_digits, x_bits = words.next(), 64
        word = words.next()
        if not accept(words, j, x_digits, word):
            continue
        while True:
            low = sigma * (j + Fraction(x_digits, 2**x_bits)) / 16 + Fraction(1, 2)
            high = sigma * (j + Fraction(x_digits + 1, 2**x_bits)) / 16 + Fraction(1, 2)
            if low.__floor__() == high.__floor__():
                break
            x_digits, x_bits = x_digits << 64 | words.next(), x_bits + 64
        magnitude = low.__floor__()
        return -magnitude if word & 1 else magnitude


def accept(words, j, x, word):
    """exp(-x (2j + x) / 512) for j < 256, by von Neumann's descending runs."""
    assert j < 256
    least, even = x, True
    while True:
        choice = word >> 55
        if choice == 2 * j:
            go_on = words.next() < x
        else:
            go_on = choice < 2 * j
        if not go_on:
            return even
        u = words.next()
        if not u < least:
            return even
        least, even, word = u, not even, words.next()


def print_streams():
    key = bytes(range(32))
    bounds = [cell_boundary(4, j, 64) for j in range(1, 160)]
    print("// FillGaussian under the key 00 01 ... 1f: the first values, and SHA-256 of all,")
    print("// as little-endian 64-bit integers.")
    print("inline const std::vector<StreamReference>& StreamReferences() {")
    print("  static const std::vector<StreamReference> references = {")
    count, chunk_values = 20000, 4096
    for stream, n, d in [(0, 2**30, 1), (7, 3, 10), (7, 10000000000000001, 9), (2**32 - 1, 2**50, 1)]:
        values = []
        for chunk in range((count + chunk_values - 1) // chunk_values):
            words = Words(key, stream, chunk)
            for _ in range(min(chunk_values, count - len(values))):
                values.append(draw(words, bounds, Fraction(n, d)))
        digest = hashlib.sha256(struct.pack(f"<{count}q", *values)).hexdigest()
        print(f"      {{{stream}u, {n}, {d}, {count}, {{{', '.join(map(str, values[:4]))}}},")
        print(f'       "{digest}"}},')
    print("  };\n  return references;\n}\n")


def main():
    print("// Made by make_gaussian_reference.py with 60-digit arithmetic; do not edit.")
    print("// clang-format off")
    print("#ifndef DPNMF_TESTS_STATISTICS_GAUSSIAN_REFERENCE_H_")
    print("#define DPNMF_TESTS_STATISTICS_GAUSSIAN_REFERENCE_H_\n")
    print('#include <array>\n#include <cstdint>\n#include <string>\n#include <vector>\n')
    print("namespace dpnmf::curator {\n")
    print("""// Cell b holds the integers in (last[b - 1], last[b]]; the first and the last cell
// are open. probability: of round(sigma Z) in it. critical: the chi-square
// quantile, false-alarm rate 1e-10.
struct GaussianCase {
  std::string name;
  std::uint64_t numerator, denominator;  // sigma in steps
  double critical;
  std::vector<std::int64_t> last;
  std::vector<double> probability;
};
struct CellBoundaryReference {
  int cell_bits, cell;
  std::array<std::uint64_t, 4> words;
};
struct StreamReference {
  std::uint32_t stream;
  std::uint64_t numerator, denominator;
  int count;
  std::array<std::int64_t, 4> first;
  std::string sha256;
};
""")
    print(f"inline constexpr double kChiSquareCritical63 = {mp.nstr(chi_square_quantile(63, '1e-10'), 20)};")
    print(f"inline constexpr double kChiSquareCritical15 = {mp.nstr(chi_square_quantile(15, '1e-10'), 20)};")
    print("// P(|Z| > z)")
    for name, z in [("4_5", "4.5"), ("5_5", "5.5"), ("6", "6"), ("6_5", "6.5")]:
        print(f"inline constexpr double kBeyond{name} = {mp.nstr(2 * upper_tail(mpf(z)), 20)};")
    print()
    print_cases()
    print_boundaries()
    print_streams()
    print("}  // namespace dpnmf::curator\n")
    print("#endif  // DPNMF_TESTS_STATISTICS_GAUSSIAN_REFERENCE_H_")


if __name__ == "__main__":
    main()
