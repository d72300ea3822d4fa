"""A job that is no MPI job: lying_job.py MODE -n N PROGRAM SOCKET DATA_DIR THREADS.

Answers what the curator asks in the way that MODE says: right answers are those
of a file of words, ANSWER, beside this socket's data directory.
"""
import os
import socket
import struct
import sys
import time

MASK = 2**64 - 1
MAGIC, END, HELLO = 0x64706E6D6672616E, 0x656E64206F662069, 0x64706E6D6668656C
mode, ranks, path, data_dir = sys.argv[1], int(sys.argv[3]), sys.argv[5], sys.argv[6]


def check(words):
    total = 0
    for word in words:
        total = (total + word) * 0x9E3779B97F4A7C15 & MASK
    return total


def words_of(values):
    return struct.pack("<%dQ" % len(values), *values)


with open(data_dir + "/starts", "a") as starts:
    starts.write("%d\n" % os.getpid())
if mode == "exits":
    sys.exit(0)
if mode == "mute":
    time.sleep(1000)
curator = socket.socket(socket.AF_UNIX)
curator.connect(path)
hello = [HELLO, ranks, ranks]
if mode == "other-version":
    hello[0] += 1
if mode == "fewer-ranks":
    hello[1] = hello[2] = ranks - 1
if mode == "other-machines":
    hello[2] -= 1
curator.sendall(words_of(hello))


def receive(size):
    data = b""
    while len(data) < size:
        more = curator.recv(size - len(data))
        if not more:
            sys.exit(0)
        data += more
    return data


def coefficients_of(command):
    """A line: the name of the run's H, and the names that are not needed any more."""
    at = 24
    for _ in range(4):  # data set, fingerprint, layout, release
        at += 8 + struct.unpack_from("<Q", command, at)[0]
    _, name, size = struct.unpack_from("<3Q", command, at)
    return " ".join(map(str, [name, *struct.unpack_from("<%dQ" % (size // 8), command, at + 24)])) + "\n"


while True:
    (length,) = struct.unpack("<Q", receive(8))
    command = receive(length)
    (number,) = struct.unpack("<Q", command[8:16])
    with open(data_dir + "/commands", "a") as commands:
        commands.write(coefficients_of(command))
    with open(data_dir + "/answer", "rb") as file:
        data = file.read()
    people, *sums = struct.unpack("<%dQ" % (len(data) // 8), data)
    failed = 0
    if mode == "too-much":
        sums[0] = 2**61
    if mode == "negative":
        sums[0] = 2**64 - 1
    answer = [MAGIC, number, failed, people, len(sums), *sums, check(sums), END]
    if mode == "wrong-sum":
        answer[5] += 1
    if mode == "wrong-check":
        answer[-2] ^= 1
    if mode == "wrong-number":
        answer[1] += 1
    if mode == "fewer-people":
        answer[3] -= 1
    if mode == "more-people":
        answer[3] += 1
    if mode == "no-end":
        answer[-1] = 0
    if mode == "failed":
        answer[2] = 1
    data = words_of(answer)
    if mode == "short":
        data = data[:-8]
    if mode == "silent":
        time.sleep(1000)
    if mode == "dies":
        sys.exit(1)
    if mode == "crashes-half-way":
        curator.sendall(data[: len(data) // 2])
        os.kill(os.getpid(), 9)
    if mode == "says-more":
        data += b"12345678"
    if mode == "child-stays":
        if os.fork() == 0:
            os.setpgid(0, 0)
            with open(data_dir + "/children", "a") as children:
                children.write("%d\n" % os.getpid())
            time.sleep(1000)
        os._exit(1)
    curator.sendall(data)
