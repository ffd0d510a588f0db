// Package docker is the image store over the Docker Engine API: it turns a reference into a pinned image that is present
// on the engine, pulling it where the policy allows that.
//
// It has a client of its own, made from the same settings as that of sandbox/docker, and knows nothing of cells. What the engine
// said of a reference is good for a while, see [Options.Remember]: to ask takes about 2 ms.
package docker
