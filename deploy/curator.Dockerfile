# The data holder's side. Build it with deploy/images.sh, which first makes the
# image dpnmf-build: the build stage of analyst.Dockerfile, with the packages and
# the code that both sides share.
FROM dpnmf-build AS build
ARG DPNMF_COMPILER_CACHE=
COPY . .
RUN env DPNMF_TARGET='dpnmf-curator dpnmf-lab' $DPNMF_COMPILER_CACHE deploy/build.sh build -DDPNMF_BUILD_TESTS=OFF \
 && strip build/bin/dpnmf-curator build/bin/dpnmf-lab

FROM debian:bookworm-slim
ARG DPNMF_UNPINNED=
COPY deploy/install_pinned.sh deploy/runtime.lock /tmp/
RUN /tmp/install_pinned.sh /tmp/runtime.lock && rm /tmp/install_pinned.sh /tmp/runtime.lock \
 && useradd --system --uid 10001 --no-create-home --shell /usr/sbin/nologin dpnmf \
 && install -d -o dpnmf -g dpnmf -m 0700 /var/lib/dpnmf /var/lib/dpnmf-anchor
COPY --from=build /src/LICENSE /usr/share/common-licenses/Apache-2.0 /usr/share/doc/dpnmf/
COPY --from=build /src/build/bin/dpnmf-curator /src/build/bin/dpnmf-lab /usr/bin/
USER 10001:10001
VOLUME ["/var/lib/dpnmf", "/var/lib/dpnmf-anchor"]
EXPOSE 7431
ENV DPNMF_CURATOR_DATA_DIR=/var/lib/dpnmf \
    DPNMF_CURATOR_ANCHOR_DIR=/var/lib/dpnmf-anchor \
    DPNMF_CURATOR_LISTEN=0.0.0.0:7431 \
    DPNMF_CURATOR_CA=/run/secrets/ca.crt \
    DPNMF_CURATOR_CERT=/run/secrets/tls.crt \
    DPNMF_CURATOR_KEY=/run/secrets/tls.key \
    DPNMF_CURATOR_ALLOW=/etc/dpnmf/allow.json
ENTRYPOINT ["/usr/bin/dpnmf-curator"]
CMD ["serve"]
