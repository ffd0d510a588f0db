// Package docker is the image store over the Docker Engine API: it turns a reference into a pinned image that is present
// on the engine, pulling it where the policy allows that.
//
// It has a client of its own, made from the same settings as that of sandbox/docker, and knows nothing of cells. Nothing
// about a tag is cached: each call asks the engine again, about 2 ms.
package docker
