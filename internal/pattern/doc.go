// Package pattern compares names with what settings write for them: * is any text, and everything else is itself.
package pattern
