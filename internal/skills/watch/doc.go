// Package watch keeps a library of skills up to date: it hears of changes below the sources' folders from the system, and
// looks again from time to time where the system cannot tell.
package watch
