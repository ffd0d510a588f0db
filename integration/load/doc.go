// Package load holds the test of many callers at once: tenants of different sizes and skills of every kind and end, for a
// while, on the real engine. It is short among the other tests; LOAD=5m makes it as long as that, and strict.
package load
