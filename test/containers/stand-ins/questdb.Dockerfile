# Stands in for the official image of QuestDB: its jar on Debian's Java. The official one has a Java with the jar inside.
FROM tidemark-stand-in/debian
RUN useradd --uid 10001 --user-group --no-create-home questdb
COPY questdb.jar /app/questdb.jar
COPY questdb-entrypoint.sh /docker-entrypoint.sh
ENV JDK_JAVA_OPTIONS="--module-path /app/questdb.jar"
EXPOSE 9000 8812 9003
ENTRYPOINT ["/docker-entrypoint.sh"]
