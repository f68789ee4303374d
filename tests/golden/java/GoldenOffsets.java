import java.nio.file.*;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.*;
import org.apache.kafka.common.protocol.types.RawTaggedField;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.coordinator.group.generated.*;

/**
 * Writes records of {@code __consumer_offsets} as Kafka's group coordinator does, beside the values they stand for:
 * {@code GoldenOffsets OUT.json}.
 *
 * <p>Everything is read back by the coordinator's own classes as well; a difference ends the program.
 */
public class GoldenOffsets {
    private static final long NOW_MS = 1_763_800_000_123L;
    private static final long DAY_MS = 86_400_000L;
    private static final Uuid TOPIC_ID = new Uuid(0x0001020304050607L, 0x08090a0b0c0d0e0fL);
    private static final Uuid NO_ID = Uuid.ZERO_UUID;

    public static void main(String[] args) throws Exception {
        String sections = String.join(",\n",
                "  \"kafka\": " + json(AppInfoParser.getVersion()),
                section("commits", commits()),
                section("types", types()));
        Files.writeString(Path.of(args[0]), "{\n" + sections + "\n}\n");
    }

    // ---- commits, in each version that the classes write

    private static List<Object> commits() {
        List<Object> cases = new ArrayList<>();
        String longestText = "x".repeat(Short.MAX_VALUE);
        String longestTopic = "x".repeat(249);
        for (short v = OffsetCommitValue.LOWEST_SUPPORTED_VERSION; v <= OffsetCommitValue.HIGHEST_SUPPORTED_VERSION; v++) {
            cases.add(commit("plain", v, "billing", "orders", 7, 42, "", NOW_MS, NO_ID, false));
            cases.add(commit("metadata", v, "billing", "orders", 7, 42, "made by hand", NOW_MS, NO_ID, false));
            cases.add(commit("beyond ASCII", v, "gr\u00fcppe", "\ud83d\ude42", 0, 0, "gr\u00f6\u00dfe", 0, NO_ID, false));
            cases.add(commit("metadata of 126 bytes", v, "g", "t", 0, 1, "x".repeat(126), NOW_MS, NO_ID, false));
            cases.add(commit("metadata of 127 bytes", v, "g", "t", 0, 1, "x".repeat(127), NOW_MS, NO_ID, false));
            cases.add(commit("longest legal topic", v, "g", longestTopic, 0, 1, "", NOW_MS, NO_ID, false));
            cases.add(commit("largest", v, "g", "t", Integer.MAX_VALUE, Long.MAX_VALUE, "", NOW_MS, NO_ID, false));
            cases.add(commit("nothing", v, "g", "t", 0, -1, "", NOW_MS, NO_ID, false));
            if (v >= 4) {
                cases.add(commit("longest metadata", v, "g", "t", 0, 1, longestText, NOW_MS, NO_ID, false));
                cases.add(commit("topic's id", v, "g", "t", 3, 5, "m", NOW_MS, TOPIC_ID, false));
                cases.add(commit("tags of the future", v, "g", "t", 3, 5, "m", NOW_MS, NO_ID, true));
                cases.add(commit("both", v, "g", "t", 3, 5, "m", NOW_MS, TOPIC_ID, true));
            }
        }
        return cases;
    }

    private static Map<String, Object> commit(
            String name, short version, String group, String topic, int partition, long offset, String metadata,
            long commitMs, Uuid topicId, boolean tagged) {
        OffsetCommitKey key = new OffsetCommitKey().setGroup(group).setTopic(topic).setPartition(partition);
        OffsetCommitValue value = new OffsetCommitValue()
                .setOffset(offset).setMetadata(metadata).setCommitTimestamp(commitMs).setTopicId(topicId);
        if (version == 1) value.setExpireTimestamp(commitMs + DAY_MS);
        if (version >= 3) value.setLeaderEpoch(9);
        if (tagged) {
            value.unknownTaggedFields().add(new RawTaggedField(1, new byte[0]));
            value.unknownTaggedFields().add(new RawTaggedField(300, new byte[200]));
        }
        byte[] keyBytes = MessageUtil.toCoordinatorTypePrefixedBytes(key);
        byte[] valueBytes = MessageUtil.toVersionPrefixedBytes(version, value);

        ByteBufferAccessor readKey = new ByteBufferAccessor(java.nio.ByteBuffer.wrap(keyBytes));
        check(readKey.readShort() == CoordinatorRecordType.OFFSET_COMMIT.id(), name);
        check(new OffsetCommitKey(readKey, (short) 0).equals(key) && readKey.remaining() == 0, name);
        ByteBufferAccessor readValue = new ByteBufferAccessor(java.nio.ByteBuffer.wrap(valueBytes));
        check(readValue.readShort() == version, name);
        check(new OffsetCommitValue(readValue, version).equals(value) && readValue.remaining() == 0, name);

        return entry("name", name, "version", (int) version, "group", group, "topic", topic,
                "partition", partition, "offset", offset, "commit_ms", commitMs,
                "key", hex(keyBytes), "value", hex(valueBytes));
    }

    // ---- every type of record, with nothing in it

    private static List<Object> types() {
        List<Object> cases = new ArrayList<>();
        for (CoordinatorRecordType type : CoordinatorRecordType.values()) {
            ApiMessage key = type.newRecordKey();
            ApiMessage value = type.newRecordValue();
            byte[] keyBytes = MessageUtil.toCoordinatorTypePrefixedBytes(key);
            byte[] valueBytes = MessageUtil.toVersionPrefixedBytes(value.highestSupportedVersion(), value);
            check(new ByteBufferAccessor(java.nio.ByteBuffer.wrap(keyBytes)).readShort() == type.id(), type.name());
            cases.add(entry("type", (int) type.id(), "name", type.name(), "key", hex(keyBytes), "value", hex(valueBytes)));
        }
        return cases;
    }

    // ---- JSON with one case a line

    private static String hex(byte[] bytes) {
        return HexFormat.of().formatHex(bytes);
    }

    private static void check(boolean holds, String what) {
        if (!holds) throw new IllegalStateException(what);
    }

    private static Map<String, Object> entry(Object... namesAndValues) {
        Map<String, Object> entry = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) entry.put((String) namesAndValues[i], namesAndValues[i + 1]);
        return entry;
    }

    private static String section(String name, List<Object> cases) {
        String prefix = "  " + json(name) + ": [\n    ";
        return cases.stream().map(GoldenOffsets::json).collect(Collectors.joining(",\n    ", prefix, "\n  ]"));
    }

    /** No text here needs escapes. */
    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            Stream<String> fields = map.entrySet().stream().map(e -> json(e.getKey()) + ": " + json(e.getValue()));
            return fields.collect(Collectors.joining(", ", "{", "}"));
        }
        return value instanceof String ? "\"" + value + "\"" : String.valueOf(value);
    }
}
