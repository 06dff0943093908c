# Go 1.26 on Alpine builds, Alpine runs. The program is static, so the second
# stage needs nothing of the first but that and the licences; Alpine gives it a
# shell for people who look inside, and wget for the health check.
#
# The images are named by digest, for a tag can be moved; the tag beside it is for
# the reader. To build from others: --build-arg BASE_IMAGE=alpine@sha256:…
ARG GO_IMAGE=golang:1.26.8-alpine@sha256:8ac98ca534ac3f51e1f420a1dd2c15e74c75cfa0f23f3ad27eb5d7236c349a0c
ARG BASE_IMAGE=alpine:3.21.3@sha256:a8560b36e8b8210634f77d9f7f9efd7ffa463e380b75e2e74aff4511df3ef88c

FROM ${GO_IMAGE} AS build
WORKDIR /source

# Dependencies change less often than code: their layer is kept.
COPY go.mod go.sum ./
RUN go mod download

COPY . .
# What source the program says it is of: --build-arg REVISION=$(git rev-parse HEAD)
ARG REVISION=unknown
RUN CGO_ENABLED=0 go build -trimpath -o /inventory \
	-ldflags "-X inventory/internal/app.revision=${REVISION}" ./cmd/inventory
RUN scripts/licences "$(go env GOOS)/$(go env GOARCH)" > /LICENCES

FROM ${BASE_IMAGE}
RUN apk add --no-cache ca-certificates tzdata \
	&& mkdir /data \
	&& chown 65532:65532 /data
COPY --from=build /inventory /usr/local/bin/inventory
COPY --from=build /LICENCES /usr/share/doc/inventory/LICENCES

# A number, so that an orchestrator can see that it is not root. /data is where
# the embedded database goes when no other is configured; mount a volume there
# to keep it.
USER 65532:65532
WORKDIR /data

# Ports are published from outside the container's loopback. There the service
# asks for keys, or refuses to start: mount a file of them and name it in
# INVENTORY_API_KEYS, or set INVENTORY_ALLOW_ANONYMOUS=true where only this
# machine reaches the port.
ENV INVENTORY_LISTEN=0.0.0.0:8080 \
	INVENTORY_METRICS_LISTEN=0.0.0.0:9090
EXPOSE 8080 9090
# Whether the process lives: /readyz would call it unhealthy while PostgreSQL is away. It is on the admin listener, which stays on
# the container's loopback.
HEALTHCHECK --interval=5s --timeout=3s --start-period=20s --retries=3 \
	CMD ["wget", "-q", "-O", "/dev/null", "http://127.0.0.1:8081/healthz"]

ENTRYPOINT ["inventory"]
CMD ["serve"]
