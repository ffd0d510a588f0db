// Package engineapi watches the requests that adapters send to a Docker Engine: which operation, how long until the answer,
// and what went wrong. It knows the paths of the Engine API, and none of its types.
package engineapi
