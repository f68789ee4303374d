import java.nio.ByteBuffer;
import java.nio.file.*;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Writes what {@link FailoverAssignor} sends, and whom it takes for active: {@code GoldenFailover OUT.json}.
 *
 * <p>The user data it reads are Java's own 4 bytes and longer ones of kafka-assignors.
 */
public class GoldenFailover {
    public static void main(String[] args) throws Exception {
        List<String> written = new ArrayList<>();
        for (String priority : Arrays.asList(null, "10", "0", "-1", "-2147483648", "2147483647")) {
            FailoverAssignor assignor = new FailoverAssignor();
            assignor.configure(priority == null ? Map.of() : Map.of("assignment.consumer.priority", priority));
            String hex = HexFormat.of().formatHex(assignor.subscriptionUserData(Set.of("t")).array());
            written.add("    {\"priority\": %s, \"hex\": \"%s\"}".formatted(priority, hex));
        }
        // t-2 and t-3, owned in generation 5, behind a priority.
        String history = "0000" + "00000005" + "00000001" + "000174" + "00000002" + "00000002" + "00000003";
        List<String> groups = List.of(
                group(Map.of("a", "00000001", "b", "0000000a")),
                group(Map.of("a", "00000001" + history, "b", "0000000a")),
                group(Map.of("a", "0000000a" + history, "b", "00000001")),
                group(Map.of("a", "ffffffff" + history, "b", "80000000", "c", "00000000" + history)));
        Files.writeString(Path.of(args[0]), """
                {
                  "kafka_clients": "%s",
                  "written": [
                %s
                  ],
                  "read": [
                %s
                  ]
                }
                """.formatted(AppInfoParser.getVersion(), String.join(",\n", written), String.join(",\n", groups)));
    }

    private static String group(Map<String, String> userData) {
        Map<String, Subscription> subscriptions = new TreeMap<>();
        userData.forEach((member, hex) -> subscriptions.put(
                member, new Subscription(List.of("t"), ByteBuffer.wrap(HexFormat.of().parseHex(hex)))));
        Map<String, List<TopicPartition>> plan = new FailoverAssignor().assign(Map.of("t", 4), subscriptions);
        String active = plan.keySet().stream().filter(member -> !plan.get(member).isEmpty()).findFirst().get();
        String fields = new TreeMap<>(userData).entrySet().stream()
                .map(e -> "\"%s\": \"%s\"".formatted(e.getKey(), e.getValue()))
                .collect(Collectors.joining(", "));
        return "    {\"user_data\": {%s}, \"active\": \"%s\"}".formatted(fields, active);
    }
}
