// Package outflow holds what a cell says until it is read, with bounds on how much that may be. It knows neither cells nor engines.
package outflow
