# The server in an image that holds nothing else. The store is a volume.
#
#   docker build --build-arg VERSION=0.9.0 --build-arg REVISION=$(git rev-parse HEAD) -t diagd .
#
# It is compiled on the machine that builds, for the platform of the image (--platform linux/amd64,linux/arm64). The
# binaries know the commit by .git; the arguments are for the labels alone.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /out/ \
  ./cmd/diagd ./cmd/diag && mkdir /out/data

FROM scratch
ARG VERSION REVISION
LABEL org.opencontainers.image.title=diagd org.opencontainers.image.licenses=MIT \
  org.opencontainers.image.description="DNS, mail and web diagnostics as a metered HTTP API" \
  org.opencontainers.image.source=https://github.com/diagkit/diagkit \
  org.opencontainers.image.version=$VERSION org.opencontainers.image.revision=$REVISION
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/diagd /out/diag /
COPY --from=build --chown=65534:65534 /out/data /data
USER 65534:65534
WORKDIR /data
VOLUME /data
ENV DIAG_LISTEN=0.0.0.0:8080 DIAG_STORE=sqlite:/data/diag.db
EXPOSE 8080
# health finds the server by the environment: settings belong there, not behind the image name.
HEALTHCHECK --start-period=30s --interval=30s --timeout=5s CMD ["/diagd", "health"]
ENTRYPOINT ["/diagd"]
