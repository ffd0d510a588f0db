package doors

import "slices"

// doorsOf are the columns of the table.
func doorsOf() []door {
	return slices.Concat(a2eDoors(), restDoors(), mcpDoors(), a2aDoors())
}
