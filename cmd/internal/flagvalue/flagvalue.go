// Package flagvalue describes values that flags cannot take, in plain words: the texts of pflag are those of
// strconv and time.
package flagvalue

import (
	"fmt"

	"github.com/spf13/pflag"
)

// Fault returns what is wrong with a value, such as "soon" is not a duration, such as 30s or 5m.
func Fault(err *pflag.InvalidValueError) string {
	return fmt.Sprintf("%q is not %s", err.GetValue(), describe(err.GetFlag().Value.Type()))
}

// describe describes the values of a type of flags.
func describe(kind string) string {
	switch kind {
	case "bool":
		return "true or false"
	case "duration":
		return "a duration, such as 30s or 5m"
	}
	return "a number"
}
