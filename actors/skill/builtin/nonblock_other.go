//go:build !unix

package builtin

// nonblock is nothing here: there are no named pipes among files.
const nonblock = 0
