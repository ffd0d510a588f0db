// Package integration holds the tests that join real parts: a supervisor, the Docker driver on a real engine, real
// skills. What they leave on the engine is checked at their end: nothing.
package integration
