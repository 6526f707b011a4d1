package httpapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/diagkit/diagkit/diag"
	"github.com/diagkit/diagkit/diag/view/render"
	"github.com/diagkit/diagkit/httpapi"
	"github.com/diagkit/diagkit/httpapi/target"
	"github.com/stretchr/testify/require"
)

// Each scenario of an operation that is built, or of a target, is played, and every expectation judged.
func TestConformanceScenarios(t *testing.T) { httpapi.PlayScenarios(t, screenOfTarget) }

// screenOfTarget returns the output of diag about a domain or a URL.
func screenOfTarget(ctx context.Context, env *diag.Env, word string, args []string) (string, error) {
	options, verbose, err := targetOptions(args)
	if err != nil {
		return "", err
	}
	t, err := target.Parse(word)
	if err != nil {
		return "", err
	}
	if t.Kind != target.Domain && t.Kind != target.URL {
		return "", fmt.Errorf("%s is neither a domain nor a URL", word)
	}
	w := target.Run(ctx, t, options, target.Local(env), nil)
	if err := w.Err(); err != nil {
		return "", err
	}
	var screen strings.Builder
	o := render.Options{Width: httpapi.ScreenWidth, Verbose: verbose}
	err = w.Text(&screen, w.Screen(verbose), verbose, o)
	return screen.String(), err
}

// targetOptions reads those flags of diag that scenarios use.
func targetOptions(args []string) (o target.Options, verbose bool, err error) {
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "--only":
			if i++; i == len(args) {
				return o, false, fmt.Errorf("--only: there is no list")
			}
			o.Only = strings.Split(args[i], ",")
			for _, group := range o.Only {
				if !slices.Contains([]string{target.Mail, target.DNS, target.Web}, group) {
					return o, false, fmt.Errorf("--only: there is no group %q", group)
				}
			}
		case "--no-smtp":
			o.NoSMTP = true
		case "-v":
			verbose = true
		default:
			return o, false, fmt.Errorf("scenarios do not use %q", args[i])
		}
	}
	return o, verbose, nil
}

// The flags of a scenario work as on the command line, and no others are accepted.
func TestScenarioArgs(t *testing.T) {
	o, verbose, err := targetOptions([]string{"--only", "mail,web", "--no-smtp", "-v"})
	require.NoError(t, err)
	require.Equal(t, target.Options{Only: []string{"mail", "web"}, NoSMTP: true}, o)
	require.True(t, verbose)
	for _, args := range [][]string{{"--only"}, {"--only", "smtp"}, {"--all"}, {"example.com"}} {
		_, _, err := targetOptions(args)
		require.Error(t, err, args)
	}
}
