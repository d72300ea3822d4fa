#!/usr/bin/python3
"""scale_plot.py SCALE.JSONL PLOT.SVG: the table, the fitted exponents of time
in users, and a plot with both axes logarithmic. Needs the standard library."""
import json
import math
import sys

rows = [json.loads(line) for line in open(sys.argv[1])]
rows.sort(key=lambda row: row["users"])


def exponent(key):
    """Least squares of log seconds on log users."""
    x = [math.log(row["users"]) for row in rows]
    y = [math.log(row[key]) for row in rows]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    spread = sum((a - mean_x) ** 2 for a in x)
    return sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y)) / spread if spread else float("nan")


print("| users | round, s | ns a user | with outliers, s | ns a user | memory beyond the data, MB | allowed, MB |")
print("|---|---|---|---|---|---|---|")
for row in rows:
    print("| {users:,} | {seconds:.3g} | {a:.0f} | {seconds_outliers:.3g} | {b:.0f} | {megabytes:.0f} | {allowed:.0f} |".format(
        a=1e9 * row["seconds"] / row["users"], b=1e9 * row["seconds_outliers"] / row["users"], **row))
print()
print("D = {features}, K = {rank}, {threads} threads; exponents of time in users: {a:.3f} without outliers, {b:.3f} with.".format(
    a=exponent("seconds"), b=exponent("seconds_outliers"), **rows[0]))

WIDTH, HEIGHT, LEFT, BOTTOM, TOP, RIGHT = 560, 360, 70, 50, 20, 20
times = [row[key] for row in rows for key in ("seconds", "seconds_outliers")]
x_low, x_high = math.log10(rows[0]["users"]), math.log10(rows[-1]["users"])
y_low, y_high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))


def place(users, seconds):
    x = (math.log10(users) - x_low) / ((x_high - x_low) or 1)
    y = (math.log10(seconds) - y_low) / ((y_high - y_low) or 1)
    return LEFT + x * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - y * (HEIGHT - BOTTOM - TOP)


svg = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">' % (WIDTH, HEIGHT),
       '<rect width="100%" height="100%" fill="white"/>']
for power in range(y_low, y_high + 1):
    _, y = place(rows[0]["users"], 10.0 ** power)
    svg.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" stroke="#ddd"/>' % (LEFT, WIDTH - RIGHT, y, y))
    svg.append('<text x="%d" y="%.1f" text-anchor="end">%g s</text>' % (LEFT - 6, y + 4, 10.0 ** power))
for row in rows:
    x, _ = place(row["users"], 1)
    svg.append('<text x="%.1f" y="%d" text-anchor="middle">%g</text>' % (x, HEIGHT - BOTTOM + 18, row["users"]))
svg.append('<text x="%d" y="%d" text-anchor="middle">users</text>' % ((LEFT + WIDTH) // 2, HEIGHT - 10))
for key, colour, label, line in (("seconds", "#1f77b4", "one round", 0), ("seconds_outliers", "#d62728", "one round with outliers", 1)):
    points = [place(row["users"], row[key]) for row in rows]
    svg.append('<polyline fill="none" stroke="%s" stroke-width="2" points="%s"/>' % (colour, " ".join("%.1f,%.1f" % p for p in points)))
    svg.extend('<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>' % (p + (colour,)) for p in points)
    svg.append('<text x="%d" y="%d" fill="%s">%s, exponent %.3f</text>' % (LEFT + 15, TOP + 18 + 18 * line, colour, label, exponent(key)))
svg.append("</svg>")
with open(sys.argv[2], "w") as file:
    file.write("\n".join(svg) + "\n")
