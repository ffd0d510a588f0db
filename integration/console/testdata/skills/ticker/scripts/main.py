import time

import hotcell

args = hotcell.arguments()
for i in range(args["n"]):
    hotcell.progress(100 * i // args["n"], f"tick {i}")
    hotcell.log(f"this is tick {i}")
    time.sleep(args["pause"])
hotcell.result({"ticks": args["n"]}, summary="ticked")
