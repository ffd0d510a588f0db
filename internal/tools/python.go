package tools

import _ "embed"

//go:embed hotcell.py
var python []byte

// PythonFile is where [Python] belongs in the runner's tree.
const PythonFile = "lib/hotcell.py"

// Python returns the module with which skills in Python speak to their host.
func Python() []byte { return python }
