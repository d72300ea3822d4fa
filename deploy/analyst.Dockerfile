# The analyst's side, from a context without curator/. Build it with deploy/images.sh.
FROM debian:bookworm-slim AS build
WORKDIR /src
ARG DPNMF_UNPINNED=
ARG DPNMF_COMPILER_CACHE=
COPY deploy/install_pinned.sh deploy/build.lock deploy/
RUN deploy/install_pinned.sh deploy/build.lock ${DPNMF_COMPILER_CACHE:+ccache}
COPY . .
RUN test ! -e curator && test ! -e lab && env $DPNMF_COMPILER_CACHE deploy/build.sh build -DDPNMF_BUILD_TESTS=OFF \
 && strip build/bin/*

FROM debian:bookworm-slim
ARG DPNMF_UNPINNED=
COPY deploy/install_pinned.sh deploy/runtime.lock /tmp/
RUN /tmp/install_pinned.sh /tmp/runtime.lock && rm /tmp/install_pinned.sh /tmp/runtime.lock \
 && useradd --system --uid 10002 --no-create-home --shell /usr/sbin/nologin dpnmf \
 && install -d -o dpnmf -g dpnmf -m 0700 /var/lib/dpnmf
COPY --from=build /src/LICENSE /usr/share/common-licenses/Apache-2.0 /usr/share/doc/dpnmf/
COPY --from=build /src/build/bin/dpnmf-analyst /src/build/bin/dpnmf /usr/bin/
USER 10002:10002
VOLUME ["/var/lib/dpnmf"]
EXPOSE 7432
ENV DPNMF_ANALYST_STATE_DIR=/var/lib/dpnmf \
    DPNMF_ANALYST_LISTEN=0.0.0.0:7432 \
    DPNMF_ANALYST_CURATOR=curator:7431 \
    DPNMF_ANALYST_CA=/run/secrets/ca.crt \
    DPNMF_ANALYST_CERT=/run/secrets/tls.crt \
    DPNMF_ANALYST_KEY=/run/secrets/tls.key \
    DPNMF_ANALYST_CLIENTS=/etc/dpnmf/clients.json
ENTRYPOINT ["/usr/bin/dpnmf-analyst"]
CMD ["serve"]
