// Package bundled holds the skills that come with the program, as the folders they would be on disk.
//
// It knows nothing of how they are loaded or run.
package bundled
