# Stands in for the official image of NATS: nats-server as Go builds it.
FROM tidemark-stand-in/debian
COPY nats-server /usr/local/bin/nats-server
COPY nats-entrypoint.sh /usr/local/bin/docker-entrypoint.sh
EXPOSE 4222 8222
ENTRYPOINT ["docker-entrypoint.sh"]
CMD ["nats-server"]
