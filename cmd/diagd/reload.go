package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/diagkit/diagkit/diag"
)

// onHangup calls a function for each SIGHUP until the context ends.
func onHangup(ctx context.Context, f func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case <-signals:
				f()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// reload reads again what is in files: the certificate, and the lists of --data but the plans, which the
// store holds. What cannot be read leaves everything as it was.
func (a *app) reload(env *diag.Env, log *slog.Logger) {
	if a.serving.pair != nil {
		a.serving.pair.renew()
	}
	if err := a.checkData(); err != nil {
		log.Error("reading the lists again; the old ones stay in force", "error", err)
		return
	}
	env.ForgetLists()
	log.Info("certificate and lists are read again; settings hold until the next start")
}
