package main

import (
	"fmt"

	"github.com/diagkit/diagkit/mailauth/hostedspf/nameserver"
	"github.com/spf13/cobra"
)

// spfKeyCommand makes a key that the zone of hosted SPF can be signed with.
func (a *app) spfKeyCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "key", Short: "Make a key to sign the zone with (DNSSEC), and print what its parent zone is to publish", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			zone, err := a.serving.hosted.zoneName()
			if err != nil {
				return err
			}
			if zone.IsZero() {
				return usagef("--spf-dns-zone is needed")
			}
			key, err := nameserver.NewSigningKey(zone)
			if err != nil {
				return err
			}
			file, err := key.Write(dir)
			if err != nil {
				return err
			}
			return a.print(map[string]string{"file": file, "ds": key.DS()}, func(t *table) {
				t.row("file", file)
				t.row("to sign with it", "diagd serve --spf-dns-key "+file)
				t.row("then, in the parent zone", key.DS())
			})
		},
	}
	a.serving.hosted.addZone(cmd.Flags())
	cmd.Flags().StringVar(&dir, "dir", ".", "folder for the two files of the key")
	return cmd
}

// spfDSCommand prints what the parent zone is to publish for the keys of a zone.
func (a *app) spfDSCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "ds", Short: "Print the DS records of the keys that the zone is signed with", Args: noArgs,
		RunE: func(*cobra.Command, []string) error {
			keys, err := a.serving.hosted.signing()
			if err != nil {
				return err
			}
			if len(keys) == 0 {
				return usagef("--spf-dns-key is needed")
			}
			for _, k := range keys {
				if _, err := fmt.Fprintln(a.stdout, k.DS()); err != nil {
					return err
				}
			}
			return nil
		},
	}
	a.serving.hosted.addKeys(cmd.Flags())
	return cmd
}
