// Package llm holds what an operator says about model providers: which there are, what they are asked for, what they cost
// and how much of them one call may use. It holds references to credentials and never a credential.
package llm
