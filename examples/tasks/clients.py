#!/usr/bin/env python3
"""Asks a server that `serving` has started, by one client and by several at once, and prints how fast they are answered.

    clients.py SOCKET [CLIENTS [LINE]]
"""
import concurrent.futures
import socket
import sys
import time


def ask(path, lines):
    """Returns the answers to these lines, of a client that asks one after another."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(path)
        stream, answers = client.makefile("rwb"), []
        for line in lines:
            stream.write(line.encode() + b"\n")
            stream.flush()
            answer = b""
            while not answer.endswith(b"\n\n"):
                piece = client.recv(4096)
                if not piece:
                    raise ConnectionError("the server has gone")
                answer += piece
            answers.append(answer.decode(errors="replace"))
        return answers


def main(path, clients="4", line="To be or not"):
    for count in (1, int(clients)):
        begin, times = time.monotonic(), 5
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            answers = list(pool.map(lambda _: ask(path, [line] * times), range(count)))
        characters = sum(len(text) - 2 for of_one in answers for text in of_one)
        print(f"{count} clients: {characters / (time.monotonic() - begin):.0f} characters per second")
    print(line + answers[0][0].strip())


if __name__ == "__main__":
    main(*sys.argv[1:]) if len(sys.argv) > 1 else sys.exit(__doc__)
