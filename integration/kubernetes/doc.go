// Package kubernetes tests what deploy/kubernetes installs, on a real cluster: that it is taken, that it serves, and what whoever
// gets hold of its service account's token can do with it; and that calls whose cells are pods lose nothing on the way.
package kubernetes
