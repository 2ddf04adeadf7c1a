# The server in an image of its own, with nothing else in it. docs/install.md says how to use it.
#
#   docker build --build-arg VERSION=0.1.0 -t dibs .

FROM --platform=$BUILDPLATFORM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS TARGETARCH VERSION=development COMMIT DATE
RUN CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH go build -trimpath -buildvcs=false -tags grpcnotrace -o /out/dibs \
    -ldflags "-s -w \
      -X github.com/calldibs/dibs/internal/build.version=$VERSION \
      -X github.com/calldibs/dibs/internal/build.commit=$COMMIT \
      -X github.com/calldibs/dibs/internal/build.date=$DATE" \
    ./cmd/dibs
# A volume that is empty gets the owner of the folder that it hides.
RUN install -d -m 0700 -o 65532 -g 65532 /out/data

FROM scratch
# For TLS to databases, collectors, webhooks and issuers.
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/dibs /dibs
COPY --from=build --chown=65532:65532 /out/data /data
COPY LICENSE /LICENSE
USER 65532:65532
WORKDIR /data
VOLUME /data
# In a container the server listens on all addresses, so it does not start without a key.
ENV DIBS_LISTEN=:8080 DIBS_KEYLESS=never
EXPOSE 8080
ENTRYPOINT ["/dibs"]
CMD ["serve"]
