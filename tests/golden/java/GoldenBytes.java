import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.types.*;
import org.apache.kafka.common.utils.AppInfoParser;
import org.apache.kafka.common.utils.Utils;

/**
 * Writes the bytes that kafka-clients puts on the wire beside the values they stand for: {@code GoldenBytes OUT.json}.
 *
 * <p>Whatever holds more than one number is read back by kafka-clients as well; a difference ends the program.
 */
public class GoldenBytes {
    private static final short HIGHEST_VERSION = 3;
    private static final String LONGEST_LEGAL_TOPIC = "x".repeat(249);
    private static final String STICKY_T_2_3_GENERATION_5 = "0000000100017400000002000000020000000300000005";

    public static void main(String[] args) throws Exception {
        String sections = String.join(",\n",
                "  \"kafka_clients\": " + json(AppInfoParser.getVersion()),
                section("sticky_user_data", stickyUserData()),
                section("sticky_user_data_v0", stickyUserDataWithoutGeneration()),
                section("cooperative_sticky_user_data", cooperativeStickyUserData()),
                section("subscriptions", subscriptions()),
                section("assignments", assignments()));
        Files.writeString(Path.of(args[0]), "{\n" + sections + "\n}\n");
    }

    // ---- user data of the sticky assignors

    private static List<Object> stickyUserData() throws Exception {
        List<Object> cases = new ArrayList<>();
        String first = hex(new StickyAssignor().subscriptionUserData(Set.of("t")));
        cases.add(entry("name", "never assigned", "owned", null, "generation", null, "written", null, "hex", first));
        for (int generation : new int[] {-1, 0, 5}) {
            cases.add(sticky("nothing owned, generation " + generation, "", generation));
        }
        cases.add(sticky("two partitions", "t:2,3", 5));
        for (int generation : new int[] {-1, 0, Integer.MAX_VALUE}) {
            cases.add(sticky("one partition, generation " + generation, "t:0", generation));
        }
        cases.add(sticky("partitions out of order", "t:7,0,3", 5));
        cases.add(sticky("largest partition number", "t:" + Integer.MAX_VALUE, 5));
        cases.add(sticky("every kind of legal character", "Az09._-:1", 5));
        cases.add(sticky("longest legal topic", LONGEST_LEGAL_TOPIC + ":0", 5));
        cases.add(sticky("300 partitions", "t:" + upTo(300), 5));
        cases.add(sticky("two topics", "t:2,3 u:0", 5));
        cases.add(sticky("two topics, given in reverse", "u:0 t:2,3", 5));
        cases.add(sticky("topics that hash out of order", "clicks:0 orders:1,4 payments:2 users:0", 5));
        cases.add(sticky("ten topics", upTo(10).replaceAll("(\\d),?", "topic-$1:" + upTo(5) + " "), 12));
        return cases;
    }

    private static Map<String, Object> sticky(String name, String owned, int generation) throws Exception {
        Map<String, List<Integer>> values = parse(owned);
        StickyAssignor assignor = new StickyAssignor();
        assignor.onAssignment(new Assignment(partitions(values)), metadata(generation));
        String hex = hex(assignor.subscriptionUserData(Set.of("t")));
        check(!name.equals("two partitions") || hex.equals(STICKY_T_2_3_GENERATION_5), name);

        Map<String, List<Integer>> read = readSticky("STICKY_ASSIGNOR_USER_DATA_V1", hex);
        check(read.equals(values), name);
        List<Object> written = new ArrayList<>();
        read.forEach((topic, numbers) -> written.add(List.of(topic, numbers)));
        return entry("name", name, "owned", values, "generation", generation, "written", written, "hex", hex);
    }

    /** The form of Kafka before 2.3; no method of kafka-clients writes it any more, so its schema does. */
    private static List<Object> stickyUserDataWithoutGeneration() throws Exception {
        List<Object> cases = new ArrayList<>();
        for (String owned : List.of("", "t:2,3", "t:2,3 u:0", "t:" + upTo(300))) {
            Map<String, List<Integer>> values = parse(owned);
            List<Struct> topics = new ArrayList<>();
            for (Map.Entry<String, List<Integer>> each : values.entrySet()) {
                Struct topic = new Struct(stickySchema("TOPIC_ASSIGNMENT"));
                topics.add(topic.set("topic", each.getKey()).set("partitions", each.getValue().toArray()));
            }
            Schema schema = stickySchema("STICKY_ASSIGNOR_USER_DATA_V0");
            Struct struct = new Struct(schema).set("previous_assignment", topics.toArray());
            ByteBuffer bytes = ByteBuffer.allocate(schema.sizeOf(struct));
            schema.write(bytes, struct);
            String hex = hex(bytes.flip());
            check(readSticky("STICKY_ASSIGNOR_USER_DATA_V0", hex).equals(values), owned);
            cases.add(entry("owned", values, "hex", hex));
        }
        return cases;
    }

    /** What the bytes hold, topics in the order in which they were written. */
    private static Map<String, List<Integer>> readSticky(String schema, String hex) throws Exception {
        Map<String, List<Integer>> owned = new LinkedHashMap<>();
        for (Object element : stickySchema(schema).read(buffer(hex)).getArray("previous_assignment")) {
            Struct topic = (Struct) element;
            Stream<Object> partitions = Arrays.stream(topic.getArray("partitions"));
            owned.put(topic.getString("topic"), partitions.map(Integer.class::cast).toList());
        }
        return owned;
    }

    private static Schema stickySchema(String name) throws ReflectiveOperationException {
        Field field = StickyAssignor.class.getDeclaredField(name);
        field.setAccessible(true);
        return (Schema) field.get(null);
    }

    private static List<Object> cooperativeStickyUserData() {
        List<Object> cases = new ArrayList<>();
        String first = hex(new CooperativeStickyAssignor().subscriptionUserData(Set.of("t")));
        cases.add(entry("name", "never assigned", "generation", -1, "hex", first));
        for (int generation : new int[] {-1, 0, 5, Integer.MAX_VALUE}) {
            CooperativeStickyAssignor assignor = new CooperativeStickyAssignor();
            assignor.onAssignment(new Assignment(List.of(new TopicPartition("t", 0))), metadata(generation));
            String hex = hex(assignor.subscriptionUserData(Set.of("t")));
            cases.add(entry("name", "generation " + generation, "generation", generation, "hex", hex));
        }
        return cases;
    }

    // ---- whole subscriptions and assignments

    private static List<Object> subscriptions() {
        List<Object> cases = new ArrayList<>();
        for (int version = 0; version <= HIGHEST_VERSION; version++) {
            for (String userData : new String[] {null, "", "cafe"}) {
                for (String owned : List.of("", "t:2,3 u:0")) {
                    for (int generation : new int[] {-1, 5}) {
                        for (String rack : new String[] {null, "rack-1"}) {
                            cases.add(subscription("combination", version, "t u", userData, owned, generation, rack));
                        }
                    }
                }
            }
            cases.add(subscription("no topics", version, "", null, "", -1, null));
            cases.add(subscription("given in reverse", version, "u t", null, "u:1,0 t:3,2", 5, null));
            cases.add(subscription("sticky's user data", version, "t", STICKY_T_2_3_GENERATION_5, "", 5, null));
            cases.add(subscription("longest legal topic", version, LONGEST_LEGAL_TOPIC, null, "", 0, null));
        }
        cases.add(subscription("largest generation", 3, "t", "7fffffff", "t:0", Integer.MAX_VALUE, null));
        cases.add(subscription("empty rack", 3, "t", null, "t:0", 5, ""));
        cases.add(subscription("rack beyond ASCII", 3, "t", null, "t:0", 5, "d\u00fcsseldorf-\u68da"));
        return cases;
    }

    private static Map<String, Object> subscription(
            String name, int version, String topics, String userData, String owned, int generation, String rack) {
        List<String> names = topics.isEmpty() ? List.of() : List.of(topics.split(" "));
        Map<String, List<Integer>> values = parse(owned);
        Subscription subscription = new Subscription(
                names, buffer(userData), partitions(values), generation, Optional.ofNullable(rack));
        String hex = hex(ConsumerProtocol.serializeSubscription(subscription, (short) version));

        // Owned partitions came with version 1, the generation with 2, the rack with 3; an empty rack reads as none.
        Subscription read = ConsumerProtocol.deserializeSubscription(buffer(hex));
        Set<TopicPartition> readable = Set.copyOf(version < 1 ? List.of() : subscription.ownedPartitions());
        check(read.topics().equals(names.stream().sorted().toList()), name);
        check(Objects.equals(hex(read.userData()), userData), name);
        check(Set.copyOf(read.ownedPartitions()).equals(readable), name);
        check(read.generationId().orElse(-1) == (version < 2 ? -1 : generation), name);
        check(read.rackId().orElse("").equals(version < 3 || rack == null ? "" : rack), name);
        return entry("name", name, "version", version, "topics", names, "user_data", userData,
                "owned", values, "generation", generation, "rack", rack, "hex", hex);
    }

    private static List<Object> assignments() {
        List<Object> cases = new ArrayList<>();
        for (int version = 0; version <= HIGHEST_VERSION; version++) {
            for (String userData : new String[] {null, "", "cafe"}) {
                for (String assigned : List.of("", "t:2,3", "u:1,0 t:2")) {
                    Map<String, List<Integer>> values = parse(assigned);
                    Assignment assignment = new Assignment(partitions(values), buffer(userData));
                    String hex = hex(ConsumerProtocol.serializeAssignment(assignment, (short) version));
                    Assignment read = ConsumerProtocol.deserializeAssignment(buffer(hex));
                    check(read.partitions().equals(assignment.partitions()), hex);
                    check(Objects.equals(hex(read.userData()), userData), hex);
                    cases.add(entry("version", version, "assigned", values, "user_data", userData, "hex", hex));
                }
            }
        }
        return cases;
    }

    // ---- values, and JSON with one case a line

    /** Reads {@code "t:2,3 u:0"}: partitions of each topic, in the order given. */
    private static Map<String, List<Integer>> parse(String text) {
        Map<String, List<Integer>> partitions = new LinkedHashMap<>();
        for (String topic : text.isEmpty() ? new String[0] : text.split(" ")) {
            String[] parts = topic.split("[:,]");
            partitions.put(parts[0], Arrays.stream(parts).skip(1).map(Integer::valueOf).toList());
        }
        return partitions;
    }

    private static String upTo(int end) {
        return IntStream.range(0, end).mapToObj(Integer::toString).collect(Collectors.joining(","));
    }

    private static List<TopicPartition> partitions(Map<String, List<Integer>> values) {
        List<TopicPartition> flat = new ArrayList<>();
        values.forEach((topic, numbers) -> numbers.forEach(number -> flat.add(new TopicPartition(topic, number))));
        return flat;
    }

    private static ConsumerGroupMetadata metadata(int generation) {
        return new ConsumerGroupMetadata("group", generation, "member", Optional.empty());
    }

    private static ByteBuffer buffer(String hex) {
        return hex == null ? null : ByteBuffer.wrap(HexFormat.of().parseHex(hex));
    }

    private static String hex(ByteBuffer buffer) {
        return buffer == null ? null : HexFormat.of().formatHex(Utils.toArray(buffer));
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
        return cases.stream().map(GoldenBytes::json).collect(Collectors.joining(",\n    ", prefix, "\n  ]"));
    }

    /** No text here needs escapes. */
    private static String json(Object value) {
        if (value instanceof Map<?, ?> map) {
            Stream<String> fields = map.entrySet().stream().map(e -> json(e.getKey()) + ": " + json(e.getValue()));
            return fields.collect(Collectors.joining(", ", "{", "}"));
        }
        if (value instanceof Collection<?> list) {
            return list.stream().map(GoldenBytes::json).collect(Collectors.joining(", ", "[", "]"));
        }
        return value instanceof String ? "\"" + value + "\"" : String.valueOf(value);
    }
}
