import java.nio.ByteBuffer;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.consumer.internals.AbstractPartitionAssignor;
import org.apache.kafka.common.Configurable;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;

/**
 * The assignor of the post "Understanding Kafka partition assignment strategies", which implements an interface that
 * kafka-clients no longer has; only what that takes is changed: user data is returned, not a whole subscription.
 */
public class FailoverAssignor extends AbstractPartitionAssignor implements Configurable {
    private FailoverAssignorConfig config;

    @Override
    public String name() {
        return "failover";
    }

    @Override
    public void configure(final Map<String, ?> configs) {
        this.config = new FailoverAssignorConfig(configs);
    }

    @Override
    public ByteBuffer subscriptionUserData(final Set<String> topics) {
        return ByteBuffer.allocate(4).putInt(config.priority()).flip();
    }

    @Override
    public Map<String, List<TopicPartition>> assign(
            Map<String, Integer> partitionsPerTopic, Map<String, Subscription> subscriptions) {
        final List<TopicPartition> assignments = partitionsPerTopic.entrySet().stream()
                .flatMap(entry -> IntStream.range(0, entry.getValue())
                        .mapToObj(i -> new TopicPartition(entry.getKey(), i)))
                .collect(Collectors.toList());
        Stream<ConsumerPriority> consumerOrdered = subscriptions.entrySet().stream()
                .map(e -> new ConsumerPriority(e.getKey(), e.getValue().userData().getInt()))
                .sorted(Comparator.reverseOrder());
        ConsumerPriority priority = consumerOrdered.findFirst().get();
        final Map<String, List<TopicPartition>> assign = new HashMap<>();
        subscriptions.keySet().forEach(memberId -> assign.put(memberId, Collections.emptyList()));
        assign.put(priority.memberId, assignments);
        return assign;
    }

    record ConsumerPriority(String memberId, int priority) implements Comparable<ConsumerPriority> {
        @Override
        public int compareTo(ConsumerPriority other) {
            return Integer.compare(priority, other.priority);
        }
    }

    public static class FailoverAssignorConfig extends AbstractConfig {
        public static final String CONSUMER_PRIORITY_CONFIG = "assignment.consumer.priority";

        private static final ConfigDef CONFIG = new ConfigDef().define(
                CONSUMER_PRIORITY_CONFIG,
                ConfigDef.Type.INT,
                Integer.MAX_VALUE,
                ConfigDef.Importance.HIGH,
                "The priority attached to the consumer that must be used for assigning partition.");

        public FailoverAssignorConfig(final Map<?, ?> originals) {
            super(CONFIG, originals, false);
        }

        public int priority() {
            return getInt(CONSUMER_PRIORITY_CONFIG);
        }
    }
}
