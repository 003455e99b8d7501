# The two commands of the README in a container:
#
#   docker build -t bfenv .
#   docker run --rm bfenv               # make demo
#   docker run --rm bfenv make test
FROM python:3.12-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends git make \
    && rm -rf /var/lib/apt/lists/*
RUN useradd --create-home bfenv
USER bfenv
RUN mkdir /home/bfenv/checkout
WORKDIR /home/bfenv/checkout
COPY --chown=bfenv . .
RUN make .venv/core && .venv/bin/bfenv warm
CMD ["make", "demo"]
