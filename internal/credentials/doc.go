// Package credentials is how a configuration names a secret without holding it: by reference.
package credentials
