// Package gate is the first program of a cell on an engine that neither says when somebody listens, nor keeps a cell's
// output to itself, nor sets all limits of a spec: Kubernetes. It waits for its supervisor, sets what is left to set, starts
// the cell's own program (or is the runner itself), seals all that comes out ([seal]), says how it ended, and stays until
// that has arrived. When the supervisor is gone, it ends the cell.
//
// The same program unpacks a cell's trees beforehand, in a container of its own ([Unpack]).
//
// It is a part of hotcell-runner and imports the standard library and words alone.
package gate
