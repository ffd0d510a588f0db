// Package tools is what a skill may ask of its host: a few built-in tools, other skills, which run in cells of their own,
// and the tools of MCP servers that the operator configured; and the gate in front of them.
//
// A [Box] holds the host's own tools and answers the library of skills, which blocks who declares what is not there.
// [Tools] is the [service.Service]: a call's grant holds what its skill declares, and serves it on the cell's port "tools"
// and to the tool lines of cells without a runner. Nothing that a cell says widens what its call was granted. The package
// is the only one that speaks MCP as a client, and knows no sandbox and no executor: nested calls go through a function.
package tools
