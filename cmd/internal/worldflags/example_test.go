package worldflags_test

import (
	"fmt"

	"github.com/diagkit/diagkit/cmd/internal/worldflags"
	"github.com/spf13/pflag"
)

func ExampleFlags() {
	var flags worldflags.Flags
	command := pflag.NewFlagSet("example", pflag.ContinueOnError)
	flags.Add(command)
	if err := command.Parse([]string{"--allow-networks", "10.1.2.3/16"}); err != nil {
		fmt.Println(err)
		return
	}
	env, release, err := flags.Env()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer release()
	fmt.Println(env.Guard.AllowNetworks)
	// Output: [10.1.0.0/16]
}
