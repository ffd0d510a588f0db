// Package oidc knows callers by the signed tokens (JWT) of one OpenID Connect issuer. It is an [auth.Authenticator] and the
// only home of the library that checks them.
//
// The issuer is asked for its keys when the first token comes, and again when a token names a key that is not known, a few
// times a minute at most, whatever callers send. While it does not answer, tokens cannot be checked: that is an error, and
// nobody is let in.
package oidc
