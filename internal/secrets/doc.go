// Package secrets gives calls the operator's secrets that their skills name: as files in the cell's memory, by way of the
// lease, and in no other way. It knows neither what a secret is good for nor what a skill does with it.
package secrets
