import os
import signal

import hotcell

hotcell.progress(30, "Parsing")
hotcell.log("the library is loaded")
os.kill(os.getpid(), signal.SIGSEGV)
