// Package kubernetes is the driver whose cells are pods, each of which serves one call.
//
// A pod's first program is the gate ([github.com/hotcell/hotcell/internal/gate]), which an init container takes out of the
// runner's image: it starts nothing until the driver is attached and has said what, with which environment and under which
// key, so that none of that is in the pod's description and no output is lost or readable on the node's disk. Trees are
// ConfigMaps named by their digests, or in the runner's image.
//
// Create makes the pod and waits until its gate waits; Start attaches. One watch tells all cells of their ends.
//
// The package is the only home of client-go. It knows neither calls nor policies: what a pod cannot enforce is refused with
// [sandbox.ErrUnsupported], unless the operator has accepted that by its word ([Controls]).
package kubernetes
