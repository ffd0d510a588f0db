// Package credentials turns references to secret values into the values: env:NAME, file:PATH, stored:NAME. Configuration
// holds references, so that it can be shown and logged.
//
// A value is read anew each time it is used, so that a rotated key takes effect, and is in no error of this package. Who
// was given a value keeps it out of everything else.
package credentials
