// A member of bench.pauses.play: Java's consumer with its CooperativeStickyAssignor.  It writes the same lines as
// bench/pauses/member.py.  Arguments: PausesMember BOOTSTRAP TOPIC SESSION_MS HEARTBEAT_MS MAX_RECORDS BATCH_S

import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class PausesMember {
    private static volatile boolean stop;

    static void say(String letter, String text) {
        System.out.println(letter + " " + System.nanoTime() + " " + text);
        System.out.flush();
    }

    static void say(String letter, Collection<TopicPartition> partitions) {
        say(letter, partitions.stream().map(tp -> "" + tp.partition()).collect(Collectors.joining(",")));
    }

    public static void main(String[] args) throws Exception {
        Properties config = new Properties();
        config.put("bootstrap.servers", args[0]);
        config.put("group.id", args[1]);
        config.put("session.timeout.ms", args[2]);
        config.put("heartbeat.interval.ms", args[3]);
        config.put("max.poll.records", args[4]);
        config.put("auto.offset.reset", "earliest");
        config.put("partition.assignment.strategy", CooperativeStickyAssignor.class.getName());
        config.put("key.deserializer", ByteArrayDeserializer.class.getName());
        config.put("value.deserializer", ByteArrayDeserializer.class.getName());
        if (System.in.read() < 0) { // waits for the first letter of "go"
            return;
        }
        long batchMs = (long) (1000 * Double.parseDouble(args[5]));
        Thread reader = new Thread(() -> {
            try {
                int letter = 0;
                while (letter >= 0 && letter != 'c') { // the first letter of "close"
                    letter = System.in.read();
                }
                if (letter < 0) {
                    Runtime.getRuntime().halt(1); // the measurement has ended
                }
            } catch (java.io.IOException error) {
                Runtime.getRuntime().halt(1);
            }
            stop = true;
        });
        reader.setDaemon(true);
        reader.start();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(config)) {
            consumer.subscribe(List.of(args[1]), new ConsumerRebalanceListener() {
                @Override
                public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
                    say("A", partitions);
                }

                @Override
                public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
                    say("R", partitions);
                }

                @Override
                public void onPartitionsLost(Collection<TopicPartition> partitions) {
                    say("L", partitions);
                }
            });
            while (!stop) {
                ConsumerRecords<byte[], byte[]> records = consumer.poll(Duration.ofMillis(100));
                StringBuilder line = new StringBuilder();
                for (TopicPartition tp : records.partitions()) {
                    List<ConsumerRecord<byte[], byte[]>> some = records.records(tp);
                    line.append(tp.partition()).append(':').append(some.get(0).offset()).append('-')
                        .append(some.get(some.size() - 1).offset()).append(' ');
                }
                if (line.length() > 0) {
                    say("D", line.toString());
                    long until = System.nanoTime() + 1_000_000 * batchMs;
                    while (!stop && System.nanoTime() < until) {
                        Thread.sleep(10);
                    }
                }
            }
        }
        say("E", "");
    }
}
