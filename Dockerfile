# The server in an image that holds nothing else. The store is a volume.
# It is compiled on the machine that builds, for the platform of the image. The binaries know the commit by .git.
FROM --platform=$BUILDPLATFORM golang:1.26 AS build
ARG TARGETOS TARGETARCH
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -ldflags="-s -w" -o /out/ ./cmd/diagd ./cmd/diag && mkdir /out/data

FROM scratch
LABEL org.opencontainers.image.title=diagkit org.opencontainers.image.licenses=MIT \
  org.opencontainers.image.source=https://github.com/diagkit/diagkit
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
