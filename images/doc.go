// Package images is the contract for turning an image reference into a pinned image that is present: a [Store] resolves
// and, where the policy allows it, pulls. A call never starts from a tag that could move under it.
package images
