// Package catalog is the view that front doors have of skills: list and read them, write custom ones, decide what agents may
// use, upload bundles. It holds interfaces and their values, and nothing of how they come about.
//
// Who asks is always an [a2e.Caller]. What it may not see does not exist for it: there is no way to tell one from the other.
package catalog
