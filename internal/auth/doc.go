// Package auth says who is calling and what they may do: identities, their groups and scopes, tokens, and the
// [Authenticator] that front doors ask.
//
// A door hands over what a request shows of itself, a bearer token or the process at the other end of a socket, and gets
// an [Identity] or an error that is fit to be answered. The package knows neither HTTP nor where tokens are kept.
package auth
