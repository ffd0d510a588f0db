import struct
import sys
import time
import zlib

import hotcell


def png(width, height):
    rows = b"".join(b"\0" + bytes(v for x in range(width) for v in (40 + x * 180 // width, 90 + y * 120 // height, 160)) for y in range(height))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


args = hotcell.arguments()
hotcell.progress(5, "Reading the sales")
hotcell.log("412 rows read")
hotcell.log("3 rows have no region", "warn")
time.sleep(0.2)
hotcell.progress(40, "Adding them up")
hotcell.status("By region")
print("north 120, south 80")
print("a line on standard error", file=sys.stderr)
time.sleep(0.2)
hotcell.progress(80, "Writing")
hotcell.artifact(b"region,sold\nnorth,120\nsouth,80\n", "sales.csv")
hotcell.artifact(b'{"north": 120, "south": 80}\n', "sales.json")
hotcell.artifact(bytes(range(256)) * 40, "raw.bin")
if args.get("chart", True):
    hotcell.artifact(png(320, 180), "chart.png")
hotcell.progress(100, "Done")
hotcell.result({"month": args["month"], "total": 200, "by_region": {"north": 120, "south": 80}}, summary="200 sold, three fifths of it in the north")
